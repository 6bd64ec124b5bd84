// Pages that are opened from a folder (file://) may not start a worker, in which the search runs. There, and only
// there, a hidden frame does its work: the same script, the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => resolve(this.start(frame.contentWindow, new URL(address, location.href))), { once: true });
      });
      document.body.append(frame);
    }
    start(inside, address) {
      const load = (source) => new Promise((done, fail) => {
        const script = inside.document.createElement("script");
        script.src = new URL(source, address).href;
        script.onload = done;
        script.onerror = fail;
        inside.document.body.append(script);
      });
      inside.importScripts = (...sources) => sources.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      return load(address.href).then(() => inside);
    }
    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
