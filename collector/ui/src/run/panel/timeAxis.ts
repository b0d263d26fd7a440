// Where moments of a run stand on an axis from 0 to 1. Time in which nothing was under way may be folded. Pure.

/** A piece of time in ms since the run began. */
export type Interval = { start: number; end: number };

/** A piece of the axis: the time `from`..`to` lies between the positions `left` and `right`. */
export type Piece = { from: number; to: number; left: number; right: number; isFolded: boolean };

/** Pieces in order, without gaps between them; at least one. */
export type TimeAxis = { pieces: readonly Piece[] };

/** Where more time is idle than busy, each idle piece is folded that is longer than this share of what is busy. */
const OFTEN = 0.02;
/** Else only an idle piece longer than this share of all. */
const LONG = 0.15;
/** Room that a folded piece takes, and that all of them take at most. */
const FOLD = 0.012;
const FOLDS = 0.3;

/** The times in which at least one of the intervals was under way, in order, joined where they touch. */
export function union(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else joined.push({ start, end });
  }
  return joined;
}

/** The times between `from` and `to` that none of the intervals covers. */
export function idle(intervals: readonly Interval[], from: number, to: number): Interval[] {
  const gaps: Interval[] = [];
  let reached = from;
  for (const { start, end } of union(intervals)) {
    if (start > reached) gaps.push({ start: reached, end: Math.min(start, to) });
    reached = Math.max(reached, end);
    if (reached >= to) break;
  }
  if (reached < to) gaps.push({ start: reached, end: to });
  return gaps.filter((gap) => gap.end > gap.start);
}

/** The axis of the time from `from` to `to`. Time in which one of `work` was under way is never folded. */
export function timeAxis(work: readonly Interval[], from: number, to: number): TimeAxis {
  const end = Math.max(to, from + 1);
  const gaps = idle(work, from, end);
  const waited = gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  const all = end - from;
  const busy = all - waited;
  const least = waited > busy ? busy * OFTEN : all * LONG;
  const folded = busy === 0 ? [] : gaps.filter((gap) => gap.end - gap.start > least);
  const fold = Math.min(FOLD, FOLDS / Math.max(1, folded.length));
  const shown = all - folded.reduce((sum, gap) => sum + gap.end - gap.start, 0);
  const room = 1 - folded.length * fold;
  const pieces: Piece[] = [];
  let reached = from;
  let left = 0;
  const add = (until: number, isFolded: boolean) => {
    if (until <= reached) return;
    const right = left + (isFolded ? fold : ((until - reached) / shown) * room);
    pieces.push({ from: reached, to: until, left, right, isFolded });
    [reached, left] = [until, right];
  };
  for (const gap of folded) {
    add(gap.start, false);
    add(gap.end, true);
  }
  add(end, false);
  return { pieces };
}

/** The position of a moment; below 0 or above 1 outside of what the axis shows. */
export function position(axis: TimeAxis, ms: number): number {
  const pieces = axis.pieces;
  const piece = pieces[pieceBy(pieces, (each) => each.to < ms)] ?? (pieces.at(-1) as Piece);
  return piece.left + ((ms - piece.from) / (piece.to - piece.from)) * (piece.right - piece.left);
}

/** The moment at a position between 0 and 1. */
export function momentAt(axis: TimeAxis, at: number): number {
  const pieces = axis.pieces;
  const piece = pieces[pieceBy(pieces, (each) => each.right < at)] ?? (pieces.at(-1) as Piece);
  const share = piece.right === piece.left ? 0 : (at - piece.left) / (piece.right - piece.left);
  return piece.from + Math.max(0, Math.min(1, share)) * (piece.to - piece.from);
}

/** The index of the first piece that does not lie before. */
function pieceBy(pieces: readonly Piece[], isBefore: (piece: Piece) => boolean): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(pieces[middle] as Piece)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const STEPS = [1, 2, 5];

/** Round moments (ms) to name below an axis, about `most` of them, each at least `1 / most` from the one before; folded time has none. */
export function ticks(axis: TimeAxis, most: number): number[] {
  const first = axis.pieces[0] as Piece;
  const last = axis.pieces.at(-1) as Piece;
  const shown = axis.pieces.reduce((sum, piece) => sum + (piece.isFolded ? 0 : piece.to - piece.from), 0);
  const step = roundStep(shown / most);
  const found: number[] = [];
  let reached = -Infinity;
  for (const piece of axis.pieces) {
    if (piece.isFolded) continue;
    for (let ms = Math.ceil((piece.from - first.from) / step) * step + first.from; ms <= piece.to; ms += step) {
      const at = position(axis, ms);
      if (at - reached < 0.8 / most) continue;
      found.push(ms);
      reached = at;
    }
  }
  return found.filter((ms) => ms <= last.to);
}

/** 1, 2 or 5 times a power of ten, at least `least`; of more than 30 s, whole half minutes. */
function roundStep(least: number): number {
  if (!(least > 0)) return 1;
  if (least > 30_000)
    return (
      [60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000].find((ms) => ms >= least) ??
      3_600_000 * Math.ceil(least / 3_600_000)
    );
  const power = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((each) => each * power >= least) ?? 10) * power;
}
