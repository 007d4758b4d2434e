import { badRequest } from './errors.ts';
import { isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import { labelPredicate, type Predicate } from './selectors.ts';

/** How the Pods of Jobs go. Nothing really runs: a Job does what a script says. */
export interface JobScript {
  /** `exit`: the container runs for `ms` and ends. `hang`: it runs until the Job's deadline. `unscheduled`, `imagePull`: it never begins.
   *  `deleted`: it runs, and after `ms` somebody deletes the Job. `refused`: an admission refuses the Pod, saying `message`, and after `ms` it is tried again. */
  outcome: 'exit' | 'hang' | 'unscheduled' | 'imagePull' | 'deleted' | 'refused';
  /** Of `exit`. 0 when absent. */
  exitCode?: number;
  /** What the container leaves in its termination message, or an admission says; `$(NAME)` stands for a variable of its environment. */
  message?: string;
  /** 100 when absent. */
  ms?: number;
  /** How long a Pod goes on after it was deleted. 0 when absent. */
  lingerMs?: number;
  /** Labels of the Jobs that go by this script; all when absent. */
  selector?: string;
  /** For how many Pods; any number when absent. */
  count?: number;
}

const OUTCOMES = ['exit', 'hang', 'unscheduled', 'imagePull', 'deleted', 'refused'] as const;

/** The scripts in force, and whether there ever was one: without any, Jobs stay as a server without controllers leaves them. */
export class JobScripts {
  readonly #scripts: { script: JobScript; selects: Predicate | undefined; left: number }[] = [];
  #used = false;

  /** Takes effect after those that were added before. @throws ApiError 400. */
  add(script: JobScript): void {
    this.#used = true;
    this.#scripts.push({ script, selects: labelPredicate(script.selector ?? ''), left: script.count ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#scripts.length = 0;
  }

  get used(): boolean {
    return this.#used;
  }

  /** The first that is for this Job, counted down. Without one its Pod waits to be scheduled. */
  take(job: KubeObject): JobScript {
    const found = this.#scripts.find(({ selects, left }) => left > 0 && (selects?.(job) ?? true));
    if (!found) return { outcome: 'unscheduled' };
    found.left -= 1;
    return found.script;
  }
}

/** A script as the control route is given it. @throws ApiError 400. */
export const jobScriptOf = (body: Json | undefined): JobScript => {
  const fields: JsonObject = isObject(body) ? body : {};
  const outcome = OUTCOMES.find((each) => each === (fields.outcome ?? 'exit'));
  if (!outcome) throw badRequest(`outcome must be one of ${OUTCOMES.join(', ')}`);
  return { outcome, ...numbersIn(fields), ...textsIn(fields) };
};

const numbersIn = (fields: JsonObject): Pick<JobScript, 'exitCode' | 'ms' | 'lingerMs' | 'count'> =>
  Object.fromEntries(
    (['exitCode', 'ms', 'lingerMs', 'count'] as const).flatMap((key) => {
      const value = fields[key];
      if (value === undefined) return [];
      if (typeof value !== 'number' || !(value >= 0)) throw badRequest(`${key} must be a number that is not negative`);
      return [[key, value]];
    }),
  );

const textsIn = (fields: JsonObject): Pick<JobScript, 'message' | 'selector'> =>
  Object.fromEntries(
    (['message', 'selector'] as const).flatMap((key) => {
      const value = fields[key];
      if (value === undefined) return [];
      if (typeof value !== 'string') throw badRequest(`${key} must be a text`);
      return [[key, value]];
    }),
  );
