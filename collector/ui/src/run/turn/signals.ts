/** Events of the page that keys send to blocks which are drawn or not: the block that is there listens. */
export const OPEN_CONTEXT = "playhead:open-context";
