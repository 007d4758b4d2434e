/**
 * What stands in an answer as it came and not in what a client made of it, as places such as `.droplets[].image.slug`. `nameOf` is the client's name for a field. A null
 * and, where `isEmptyLeftOut`, anything empty say nothing. @param heard JSON
 */
export function unread(heard: unknown, read: unknown, nameOf: (name: string) => string, isEmptyLeftOut = false): readonly string[] {
  const at = (told: unknown, known: unknown, place: string): readonly string[] => {
    if (told === null || (isEmptyLeftOut && !told && known === undefined)) return [];
    if (Array.isArray(told)) return told.flatMap((item, n) => at(item, Array.isArray(known) ? known[n] : undefined, `${place}[]`));
    if (typeof told === 'object') {
      const fields: Readonly<Record<string, unknown>> = typeof known === 'object' && known !== null ? { ...known } : {};
      return Object.entries(told).flatMap(([name, one]) => at(one, fields[nameOf(name)], `${place}.${name}`));
    }
    return isSame(told, known) ? [] : [place];
  };
  return [...new Set(at(heard, read, ''))];
}

const isSame = (told: unknown, known: unknown): boolean =>
  known instanceof Date ? known.getTime() === Date.parse(String(told)) : known === told;
