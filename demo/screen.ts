import { setTimeout as sleep } from 'node:timers/promises';
import type { Args } from './args.ts';
import { type Entry, frame, redraw, stamp } from './frame.ts';
import { drawn } from './line.ts';
import { now } from './time.ts';
import { EMPTY, type View } from './view.ts';

/** Where the demo shows what happens. */
export interface Screen {
  /** A step of the story. */
  step(text: string): void;
  /** Something that was seen to change. */
  note(text: string): void;
  /** The state of things now; shown where a picture is drawn. */
  show(view: View): void;
  /** Time to look at the picture, where there is one. */
  pause(): Promise<void>;
  /** Lines that stay, e.g. the summary. A picture stands still from here on, until `stay`. */
  print(lines: readonly string[]): void;
  /** From now on changes are the story: a new picture logs them too. */
  stay(): void;
  /** Leaves the terminal as it was, with the last picture in it. May be repeated. */
  close(): void;
}

const REDRAW_MS = 100;
const PAUSE_MS = 1_500;
const LOG_LINES = 200;

/** A live picture in a terminal, plain lines elsewhere, nothing when the output is for a program. */
export function openScreen({ seed, json }: Args, output: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen {
  if (json) return SILENT;
  if (!output.isTTY || env.TERM === 'dumb') return plainScreen(output);
  return liveScreen(`RoutedIP Operator demo, seed ${seed}`, output, !env.NO_COLOR);
}

const SILENT: Screen = {
  step: () => undefined,
  note: () => undefined,
  show: () => undefined,
  pause: () => Promise.resolve(),
  print: () => undefined,
  stay: () => undefined,
  close: () => undefined,
};

function plainScreen(output: NodeJS.WritableStream): Screen {
  const startedAt = now();
  const say = (text: string): void => void output.write(`${stamp(now() - startedAt)}  ${text}\n`);
  return { ...SILENT, step: say, note: (text) => say(`  ${text}`), print: (lines) => void output.write(`${lines.join('\n')}\n`) };
}

function liveScreen(title: string, output: NodeJS.WriteStream, colours: boolean): Screen {
  const startedAt = now();
  const state: { view: View; log: Entry[]; drawn: readonly string[]; columns: number; staying: boolean; still: boolean; closed: boolean } =
    {
      view: EMPTY,
      log: [],
      drawn: [],
      columns: 0,
      staying: false,
      still: false,
      closed: false,
    };
  const draw = (): void => {
    if (state.still) return;
    // Asked anew each time: in a process group of its own nothing tells that the window has another size.
    const [columns, rows] = output.getWindowSize();
    // Lines cut for another width may stand wrapped now: what is above cannot be counted, so it stays and the picture starts anew.
    if (columns !== state.columns) state.drawn = [];
    const next = frame({ title, view: state.view, log: state.log, startedAt, now: now() }, { columns, rows }).map((one) =>
      drawn(one, colours),
    );
    const text = redraw(state.drawn, next);
    if (text !== '') output.write(text);
    Object.assign(state, { drawn: next, columns });
  };
  const add = (text: string): void => {
    state.log = [...state.log, { text, elapsedMs: now() - startedAt }].slice(-LOG_LINES);
    draw();
  };
  output.write('\x1b[?25l');
  const timer = setInterval(draw, REDRAW_MS);
  return {
    step: add,
    note: (text) => {
      if (state.staying) add(text);
    },
    show: (view) => {
      state.view = view;
    },
    pause: () => sleep(PAUSE_MS),
    print: (lines) => {
      draw();
      state.still = true;
      output.write(`${lines.join('\n')}\n`);
    },
    stay: () => {
      output.write('\n');
      Object.assign(state, { staying: true, still: false, log: [], drawn: [] });
      draw();
    },
    close: () => {
      clearInterval(timer);
      if (!state.closed) output.write('\x1b[?25h');
      state.closed = true;
    },
  };
}
