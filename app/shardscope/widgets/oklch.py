"""Conversion of OKLCH to sRGB; equal steps of lightness look equal, so that shades can be computed."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rgb = tuple[float, float, float]
"""Red, green and blue in sRGB, each from 0 to 1."""

_OKLAB_TO_LMS = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
_LMS_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


@lru_cache(maxsize=1024)
def from_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return the sRGB colour of a lightness (0 to 1), chroma (0 to 0.3, reduced if outside sRGB) and hue in degrees."""
    while True:
        linear = _linear(lightness, chroma, hue)
        if chroma <= 0 or bool(np.all((linear >= -1e-6) & (linear <= 1 + 1e-6))):
            red, green, blue = (encoded(min(max(part, 0.0), 1.0)) for part in linear.tolist())
            return red, green, blue
        chroma = max(chroma - 0.005, 0.0)


def distance(one: Rgb, other: Rgb) -> float:
    """Return the Euclidean distance in OKLab; 0.02 is just noticeable."""
    return float(np.linalg.norm(_oklab(one) - _oklab(other)))


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _linear(lightness: float, chroma: float, hue: float) -> NDArray[np.float64]:
    angle = math.radians(hue)
    lab = np.array([lightness, chroma * math.cos(angle), chroma * math.sin(angle)])
    linear: NDArray[np.float64] = _LMS_TO_LINEAR @ (_OKLAB_TO_LMS @ lab) ** 3
    return linear


def _oklab(colour: Rgb) -> NDArray[np.float64]:
    lms = np.cbrt(np.linalg.solve(_LMS_TO_LINEAR, np.array([decoded(part) for part in colour])))
    lab: NDArray[np.float64] = np.linalg.solve(_OKLAB_TO_LMS, lms)
    return lab


def _luminance(colour: Rgb) -> float:
    red, green, blue = (decoded(part) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def decoded(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
