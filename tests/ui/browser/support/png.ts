// Small PNGs, and whether two of them show the same.
import UPNG from "upng-js";

export type Picture = { width: number; height: number; rgba: Uint8Array };

/** A PNG with a palette of so many colours: a third of the bytes, and hardly a difference to the eye. */
export function small(picture: Picture, colours: number): Buffer {
  const { rgba, width, height } = picture;
  return Buffer.from(UPNG.encode([rgba.slice().buffer as ArrayBuffer], width, height, colours));
}

export function decoded(png: Buffer): Picture {
  const image = UPNG.decode(new Uint8Array(png).buffer as ArrayBuffer);
  return { width: image.width, height: image.height, rgba: new Uint8Array(UPNG.toRGBA8(image)[0] as ArrayBuffer) };
}

/** Each pixel is the mean of a square of so many; what is left at the edges is cut off. */
export function scaled({ width, height, rgba }: Picture, by: number): Picture {
  const columns = Math.floor(width / by);
  const rows = Math.floor(height / by);
  const found = new Uint8Array(columns * rows * 4);
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < columns; x++)
      for (let channel = 0; channel < 4; channel++) {
        let sum = 0;
        for (let dy = 0; dy < by; dy++) for (let dx = 0; dx < by; dx++) sum += rgba[((y * by + dy) * width + x * by + dx) * 4 + channel] ?? 0;
        found[(y * columns + x) * 4 + channel] = Math.round(sum / (by * by));
      }
  return { width: columns, height: rows, rgba: found };
}
