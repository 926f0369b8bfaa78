"""Colours by lightness, chroma and hue as the eye sees them, and how they look to colour-blind eyes.

Equal steps of OKLCH lightness look equally large, so that field shades can be computed instead of picked.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rgb = tuple[float, float, float]
"""Red, green and blue of sRGB, each 0 to 1."""

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

_LINEAR_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_D65 = np.array([0.95047, 1.0, 1.08883])

# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
DEFICIENCIES: dict[str, NDArray[np.float64]] = {
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


@lru_cache(maxsize=1024)
def from_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """The sRGB colour; chroma is lowered until the colour exists.

    Args:
        lightness: 0 (black) to 1 (white).
        chroma: 0 (grey) to about 0.3.
        hue: In degrees.
    """
    while True:
        linear = _linear(lightness, chroma, hue)
        if chroma <= 0 or bool(np.all((linear >= -1e-6) & (linear <= 1 + 1e-6))):
            red, green, blue = (_encoded(min(max(part, 0.0), 1.0)) for part in linear.tolist())
            return red, green, blue
        chroma = max(chroma - 0.005, 0.0)


def seen_with(colour: Rgb, deficiency: str) -> Rgb:
    """The colour as eyes with a deficiency, one of `DEFICIENCIES`, see it."""
    linear = np.array([_decoded(part) for part in colour])
    red, green, blue = (_encoded(float(p)) for p in np.clip(DEFICIENCIES[deficiency] @ linear, 0, 1))
    return red, green, blue


def distance(one: Rgb, other: Rgb) -> float:
    """Return how different two colours look: the distance in OKLab; 0.02 is just noticeable."""
    return float(np.linalg.norm(_oklab(one) - _oklab(other)))


def cie76(one: Rgb, other: Rgb) -> float:
    """Return how different two colours look: the distance in CIELAB; 2.3 is just noticeable, 10 is seen at a glance."""
    return float(np.linalg.norm(_cielab(one) - _cielab(other)))


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2, 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _linear(lightness: float, chroma: float, hue: float) -> NDArray[np.float64]:
    angle = math.radians(hue)
    lab = np.array([lightness, chroma * math.cos(angle), chroma * math.sin(angle)])
    linear: NDArray[np.float64] = _LMS_TO_LINEAR @ (_OKLAB_TO_LMS @ lab) ** 3
    return linear


def _oklab(colour: Rgb) -> NDArray[np.float64]:
    linear = np.array([_decoded(part) for part in colour])
    lms = np.cbrt(np.linalg.solve(_LMS_TO_LINEAR, linear))
    lab: NDArray[np.float64] = np.linalg.solve(_OKLAB_TO_LMS, lms)
    return lab


def _cielab(colour: Rgb) -> NDArray[np.float64]:
    xyz = _LINEAR_TO_XYZ @ np.array([_decoded(part) for part in colour]) / _D65
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _luminance(colour: Rgb) -> float:
    red, green, blue = (_decoded(part) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _decoded(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
