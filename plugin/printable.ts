import { visible } from '../machines/model/visible.ts';

/** The terminal-safe form of these lines. All output of the plugin goes through here. */
export const printable = (lines: readonly string[]): string => lines.map((line) => `${visible(line)}\n`).join('');
