// What viser's page lacks. Runs once in each tab; see `panel.SCRIPT`.
// A bare addEventListener would be that of the image.
if (!window.bpDemo) {
  window.bpDemo = true;
  document.title = "broadphase demo";
  const root = document.documentElement;
  const isPicture = event => event.target.tagName === "CANVAS";
  const press = key =>
    root.dispatchEvent(new KeyboardEvent("keydown", {key, code: "Key" + key.toUpperCase(), bubbles: true}));

  const giveUp = () => {
    const focused = document.activeElement;
    if (focused?.matches("input, textarea, button, [tabindex]") && !focused.closest("[role=dialog]")) focused.blur();
  };

  // A click of the right button is the key C. A wheel or a drag is the key H: the camera follows the hand.
  let at = null, tookAt = 0;
  const take = () => {
    if (performance.now() - tookAt > 250) press("h");
    tookAt = performance.now();
  };
  const isFar = event => Math.hypot(event.clientX - at.x, event.clientY - at.y) >= 4;
  window.addEventListener("pointerdown", event => {
    at = isPicture(event) && !event.shiftKey ? {x: event.clientX, y: event.clientY, button: event.button} : null;
    if (isPicture(event)) giveUp();
  }, true);
  window.addEventListener("pointermove", event => {
    if (at && event.buttons && isFar(event)) take();
  }, true);
  window.addEventListener("pointerup", event => {
    if (at && at.button === 2 && event.button === 2 && !isFar(event)) press("c");
    at = null;
  }, true);
  window.addEventListener("wheel", event => {
    if (isPicture(event)) take();
  }, true);

  // Keys belong to the picture: a control that was used by mouse, or a text that was finished, gives up the focus.
  window.addEventListener("click", event => {
    const isEdited = document.activeElement === event.target && event.target.matches("input:not([type=checkbox])");
    if (!isEdited) giveUp();
  });
  window.addEventListener("pointerup", () => {
    if (document.activeElement?.matches("[role=slider]")) giveUp();  // a drag may end beside it, without a click
  });
  window.addEventListener("keydown", event => {
    if (["Enter", "Escape"].includes(event.key) && event.target.matches("input:not([type=checkbox])")) giveUp();
  });

  // Pictures per second, which only the browser knows: it clears the canvas once or more for each.
  const paper = WebGL2RenderingContext.prototype, clear = paper.clear;
  let pictures = 0, lastTime = 0;
  paper.clear = function (...bits) {
    const time = document.timeline.currentTime;
    if (time !== lastTime) {
      pictures += 1;
      queueMicrotask(() => shoot(this.canvas));
    }
    lastTime = time;
    return clear.apply(this, bits);
  };
  setInterval(() => {
    root.style.setProperty("--bp-pictures", `"${pictures}"`);
    pictures = 0;
    follow();
  }, 1000);

  // The address carries the scene and its settings, and the token if it had one.
  const follow = () => {
    const link = document.getElementById("bp-link");
    if (!link) return;
    const token = new URLSearchParams(location.search).get("token");
    const search = "?" + link.textContent + (token ? "&token=" + token : "");
    if (search !== location.search) history.replaceState(null, "", search);
  };
  const copy = async () => {
    follow();
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {  // without https, other machines have no clipboard
      const text = document.body.appendChild(document.createElement("textarea"));
      text.value = location.href;
      text.select();
      document.execCommand("copy");
      text.remove();
    }
  };

  // A film of the next ten seconds. Its pictures are copied into a canvas that keeps its size when the window does not.
  const kind = ["video/webm", "video/mp4"].find(one => window.MediaRecorder?.isTypeSupported(one));
  let shoot = () => {};
  const film = () => {
    if (!kind || document.getElementById("bp-film")) return;
    const sign = document.body.appendChild(document.createElement("div"));
    sign.id = "bp-film";
    sign.style.cssText = "position:fixed; bottom:32px; left:50%; color:#d55e00; font:13px system-ui,sans-serif";
    const screen = document.createElement("canvas"), pen = screen.getContext("2d"), parts = [];
    let reel = null, left = 10, shotAt = -1e9;
    shoot = picture => {  // at the end of a frame, when it is complete and still there
      const now = performance.now();
      if (now - shotAt < 66) return;
      shotAt = now;
      if (!reel) {
        screen.width = Math.min(960, 2 * Math.floor(picture.width / 2));
        screen.height = 2 * Math.round(screen.width / picture.width * picture.height / 2);
      }
      pen.drawImage(picture, 0, 0, screen.width, screen.height);
      if (reel) return;
      reel = new MediaRecorder(screen.captureStream(15), {mimeType: kind, videoBitsPerSecond: 4e6});
      reel.ondataavailable = event => parts.push(event.data);
      reel.onstop = () => {
        const link = document.createElement("a");
        link.download = document.getElementById("bp-title").textContent + "." + kind.slice(6);
        link.href = window.URL.createObjectURL(new Blob(parts, {type: kind}));
        link.click();
        window.URL.revokeObjectURL(link.href);
      };
      reel.start();
    };
    const count = () => {
      sign.textContent = `\u25cf ${left}`;
      if (left--) {
        setTimeout(count, 1000);
        return;
      }
      shoot = () => {};
      sign.remove();
      reel?.stop();
    };
    count();
  };
  window.addEventListener("click", event => {
    ({"Copy link": copy, "Record a film": film})[event.target.closest?.("button")?.textContent.trim()]?.();
  });

  // viser draws the rectangle of a selection black, without its border, and is the only one that has a blue pen.
  const flat = CanvasRenderingContext2D.prototype, fillRect = flat.fillRect;
  flat.fillRect = function (...sides) {
    const isSelection = this.strokeStyle === "#0000ff";
    if (isSelection) this.fillStyle = "#f0e442";
    fillRect.apply(this, sides);
    if (!isSelection) return;
    this.globalAlpha = 1;
    this.strokeStyle = "#f0e442";
    this.strokeRect(...sides);
  };

  // The keys, below the middle of the picture.
  const keys = document.body.appendChild(document.createElement("div"));
  keys.id = "bp-keys";
  keys.innerHTML = "<b>Space</b> pause · <b>Enter</b> brute force and back · <b>C</b> camera · <b>click</b> or <b>drag</b> a body"
    + " · <b>Shift + drag</b> select";
  keys.style.cssText = "position:fixed; bottom:8px; transform:translateX(-50%); pointer-events:none; color:#aeb8c6;"
    + " font:12px system-ui,sans-serif; text-align:center";
  const picture = document.querySelector("canvas[data-engine]");
  const put = () => {
    const place = picture.getBoundingClientRect();
    keys.style.left = `${place.left + place.width / 2}px`;
    keys.style.maxWidth = `${place.width - 24}px`;
  };
  new ResizeObserver(put).observe(picture);

  // On a phone the sheet of controls begins closed, so that the picture is seen.
  const sheet = document.querySelector("[style*='max-height: 60%']");
  if (sheet) {
    const wide = document.head.appendChild(document.createElement("style")), sheets = "[style*='max-height: 60%']";
    wide.textContent = `${sheets}, ${sheets} [style*='width: 20em'] { width: 100vw !important }`;
    sheet.querySelector("[style*='cursor: pointer']").click();
    keys.innerHTML = "<b>tap</b> a body · <b>drag</b>, <b>pinch</b> the view · controls and cost: the bar below";
    keys.style.bottom = "60px";
  }
}
