// Programs that are recorded while a test runs.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { after } from "node:test";

import { URL_OF_COLLECTOR } from "./browser.ts";

export type Program = { process: ChildProcessWithoutNullStreams; lines: Interface };

const started: ChildProcessWithoutNullStreams[] = [];
after(() => started.forEach((program) => program.kill("SIGKILL")));

/** Starts a program of the tests, by the environment variable that has its path. */
export function start(variable: string): Program {
  const env = { ...process.env, PLAYHEAD_ENDPOINT: URL_OF_COLLECTOR };
  const program = spawn(process.env.PLAYHEAD_UI_PYTHON ?? "python", [process.env[variable] ?? ""], { env });
  program.stderr.resume();
  started.push(program);
  return { process: program, lines: createInterface(program.stdout) };
}

/** The first line that a program prints: the id of its run. */
export async function runOf({ lines }: Program): Promise<string> {
  const [line] = (await once(lines, "line")) as [string];
  return line.trim().replaceAll("-", "");
}

/** Waits until the program has ended, and returns its exit code. */
export async function ended({ process: program }: Program): Promise<number | null> {
  if (program.exitCode === null) await once(program, "exit");
  return program.exitCode;
}

/** What the API answers at this path as soon as it is as it should be. */
export async function answered<T>(path: string, isReady: (answer: T) => boolean, longestMs = 60_000): Promise<T> {
  const end = Date.now() + longestMs;
  while (Date.now() < end) {
    const answer = await fetch(`${URL_OF_COLLECTOR}/api/v1${path}`);
    if (answer.ok) {
      const found = (await answer.json()) as T;
      if (isReady(found)) return found;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the API never answered ${path} as it should`);
}
