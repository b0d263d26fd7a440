/** The key `w` opens or closes all tool work between what was said. */
export const SHOW_WORK = "playhead:show-work";
