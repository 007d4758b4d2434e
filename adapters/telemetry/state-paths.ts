import type { Json } from '../../actors/ports/records.ts';

/** The paths of a chart's active states, e.g. `Unassigned.Waiting`; one per parallel region, sorted. */
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
