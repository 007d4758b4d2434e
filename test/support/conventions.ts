import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { type ImportRule, ruleFor } from './import-table.ts';
import { COMPUTED, factsOf } from './source-facts.ts';

/** What the import table calls a module that `path` names as `specifier`: a path from the root, `npm:…` or `node:…`. */
export const targetOf = (path: string, specifier: string): string => {
  if (specifier === COMPUTED) return COMPUTED;
  if (/^\.{0,2}\//.test(specifier)) return posix.normalize(posix.join(posix.dirname(path), specifier));
  const bare = specifier.replace(/^node:/, '');
  return specifier.startsWith('node:') || builtinModules.includes(bare) ? `node:${bare}` : `npm:${specifier}`;
};

const mayImport = ({ what, never = [] }: ImportRule, target: string): boolean =>
  what.some((pattern) => pattern.test(target)) && !never.some((pattern) => pattern.test(target));

/** Each import of the file that the table does not allow, as a sentence for its author; a file that no rule covers is one too. */
export const importViolations = (path: string, text: string): readonly string[] => {
  const rule = ruleFor(path);
  if (rule === null)
    return [
      `${path}: no rule of test/support/import-table.ts covers this file. Move it to the folder it belongs to, or give its folder a rule.`,
    ];
  return factsOf(text)
    .imports.map((specifier) => ({ specifier, target: targetOf(path, specifier) }))
    .filter(({ target }) => !mayImport(rule, target))
    .map(
      ({ specifier, target }) =>
        `${path} imports ${specifier} (${target}), which the rule for ${rule.name} does not allow. ${rule.instead}`,
    );
};

/** Clocks, timers, chance, output and surroundings: what makes the same input give another answer, or leaves a trace. */
const IMPURE = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'new Date()',
  'Date',
  'Date.now',
  'Math',
  'Math.random',
  'performance',
  'process',
  'console',
  'crypto',
  'fetch',
  'globalThis',
  'require',
];
/** Every member of these is impure; of Date and Math only those that IMPURE names. */
const WHOLLY_IMPURE = /^(performance|process|console|crypto|globalThis)\./;
const GOVERNED = /^(machines|actors)\//;

/** What a file of machines/ or actors/ takes from the machine it runs on; and `await` in machines/. */
export const purityViolations = (path: string, text: string): readonly string[] => {
  if (!GOVERNED.test(path)) return [];
  const { globals, waits } = factsOf(text);
  const used = globals.filter((name) => IMPURE.includes(name) || WHOLLY_IMPURE.test(name));
  const found = used.map(
    (name) => `${path} uses ${name}. Time, chance and output reach machines/ as arguments and actors/ through a port.`,
  );
  if (path.startsWith('machines/') && waits)
    found.push(`${path} waits (async or await). Only actors/ and adapters/ wait; a machine answers at once.`);
  return found;
};
