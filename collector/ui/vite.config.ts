import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The collector serves the page at many addresses, and below a proxy's prefix: assets are found relative to <base>.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: process.env.PLAYHEAD_UI_OUT ?? "../playhead_collector/ui",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
  },
  server: { proxy: { "/api": process.env.PLAYHEAD_COLLECTOR_URL ?? "http://127.0.0.1:4318" } },
  // Tests of pure functions take milliseconds, unless the machine stands still.
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
});
