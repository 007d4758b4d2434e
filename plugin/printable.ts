import { visible } from '../machines/model/visible.ts';

/** What a terminal gets of these lines. All that the plugin prints goes through here. */
export const printable = (lines: readonly string[]): string => lines.map((line) => `${visible(line)}\n`).join('');
