// The search runs in a worker, which browsers refuse to pages from file://. There the script runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      const load = (src) =>
        new Promise((done, failed) => {
          const script = inner.document.createElement("script");
          script.src = src;
          script.onload = done;
          script.onerror = failed;
          inner.document.head.append(script);
        });
      inner.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => load(src)), Promise.resolve());
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url).then(() => inner);
    }

    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
