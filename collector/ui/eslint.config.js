// The rules of React's hooks, and what finds mistakes that types do not show. Prettier decides how the code looks.
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig([
  globalIgnores(["src/api/schema.d.ts"]), // written by `make ui-types`
  {
    files: ["**/*.{ts,tsx}"],
    extends: [js.configs.recommended, tseslint.configs.recommended, reactHooks.configs.flat["recommended-latest"]],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "react-hooks/exhaustive-deps": "error",
      "react-hooks/incompatible-library": "off", // about React's compiler, which is not used here
      "react-hooks/set-state-in-effect": "off", // what loads something says so before it asks
    },
  },
  {
    // Handlers that a function makes, and a ref that a hook returns, count as reads while drawing. The rows of the run
    // page do read a ref: folding goes on from what was folded before, and gives the same for the same events.
    files: ["src/run/RunPage.tsx", "src/run/useZones.ts"],
    rules: { "react-hooks/refs": "off" },
  },
]);
