// Runs the files that PLAYHEAD_UI_TESTS names, in this order: node --test takes files by their names.
for (const name of (process.env.PLAYHEAD_UI_TESTS ?? "").split(",")) await import(`./${name}.test.ts`);
