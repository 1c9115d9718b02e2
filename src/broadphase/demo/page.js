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
    pictures += time !== lastTime;
    lastTime = time;
    return clear.apply(this, bits);
  };
  setInterval(() => {
    root.style.setProperty("--bp-pictures", `"${pictures}"`);
    pictures = 0;
  }, 1000);

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
    sheet.querySelector("[style*='cursor: pointer']").click();
    keys.innerHTML = "<b>tap</b> a body · <b>drag</b>, <b>pinch</b> the view · controls and cost: the bar below";
    keys.style.bottom = "60px";
  }
}
