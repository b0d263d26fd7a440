// Lanes on a canvas: thousands of bars are drawn once, and only the playhead above them moves.
import { type Bar, type Lane } from "./lanes";
import { position, type TimeAxis } from "./timeAxis";

export const LANE_HEIGHT = 22;
const [BAR_TOP, BAR_HEIGHT] = [4, 14];
const LEAST_WIDTH = 2;
const RADIUS = 2.5;
const HATCH = 6;

type Colours = Record<"model" | "tool" | "step" | "bad" | "edge" | "line", string>;

/** The colours of the theme that is shown. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => resolved(element, style.getPropertyValue(name));
  return {
    model: of("--model"),
    tool: of("--tool"),
    step: of("--edge"),
    bad: of("--bad"),
    edge: of("--edge"),
    line: of("--line"),
  };
}

/** `light-dark(…)` as the colour that it is here: a canvas does not know which theme is shown. */
function resolved(element: Element, colour: string): string {
  const probe = document.createElement("i");
  probe.style.color = colour;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Draws the lanes over the whole canvas, which is made as large as it is shown. */
export function drawLanes(canvas: HTMLCanvasElement, lanes: readonly Lane[], axis: TimeAxis, colours: Colours): void {
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const x = (ms: number) => position(axis, ms) * width;
  for (const piece of axis.pieces)
    if (piece.isFolded) hatch(pen, piece.left * width, piece.right * width, lanes.length * LANE_HEIGHT, colours.edge);
  lanes.forEach((lane, n) => {
    const top = n * LANE_HEIGHT;
    pen.fillStyle = lane.isFailed ? colours.bad : colours.edge;
    pen.globalAlpha = 0.6;
    pen.fillRect(x(lane.start), top + LANE_HEIGHT / 2, Math.max(1, x(lane.end) - x(lane.start)), 1);
    pen.globalAlpha = 1;
    let drawn = -Infinity; // where many bars share a pixel, one is drawn for all of them
    for (const bar of lane.bars) {
      const [left, right] = [x(bar.start), x(bar.end)];
      if (right < 0 || left > width || (right - drawn < 0.5 && !bar.isFailed)) continue;
      drawn = Math.max(drawn, right);
      drawBar(pen, bar, Math.max(-RADIUS, left), Math.min(width + RADIUS, right), top, colours);
    }
  });
}

function drawBar(
  pen: CanvasRenderingContext2D,
  bar: Bar,
  left: number,
  right: number,
  top: number,
  colours: Colours,
): void {
  const colour = bar.isFailed ? colours.bad : colours[bar.kind];
  const width = Math.max(LEAST_WIDTH, right - left - (right - left > 6 ? 1 : 0));
  pen.fillStyle = colour;
  if (bar.isOpen) {
    const fade = pen.createLinearGradient(left, 0, left + width, 0);
    fade.addColorStop(0, colour);
    fade.addColorStop(Math.max(0, 1 - 96 / Math.max(96, width)), colour);
    fade.addColorStop(1, "transparent");
    pen.fillStyle = fade;
  }
  pen.beginPath();
  pen.roundRect(left, top + BAR_TOP, width, BAR_HEIGHT, Math.min(RADIUS, width / 2));
  pen.fill();
}

/** Lines from the lower left to the upper right, in the folded time. */
function hatch(pen: CanvasRenderingContext2D, left: number, right: number, height: number, colour: string): void {
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, right - left, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let from = left - height; from < right; from += HATCH) {
    pen.moveTo(from, height);
    pen.lineTo(from + height, 0);
  }
  pen.stroke();
  pen.restore();
}

/** The bar at a place of the canvas; undefined: there is none. */
export function barAt(lanes: readonly Lane[], axis: TimeAxis, width: number, x: number, y: number): Bar | undefined {
  const near = 2;
  return lanes[Math.floor(y / LANE_HEIGHT)]?.bars.findLast(
    (bar) => position(axis, bar.start) * width - near <= x && x <= position(axis, bar.end) * width + near,
  );
}
