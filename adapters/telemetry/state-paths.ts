import type { Json } from '../../actors/ports/records.ts';

/** The states that a chart is in, with those around them: `Unassigned.Waiting`; one for each parallel region, sorted. */
export function statePaths(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [];
  return Object.entries(value)
    .flatMap(([state, inner]) => {
      const within = statePaths(inner);
      return within.length === 0 ? [state] : within.map((path) => `${state}.${path}`);
    })
    .sort();
}
