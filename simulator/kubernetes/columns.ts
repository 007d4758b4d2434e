import { at, type Json, type KubeObject } from './objects.ts';
import type { Column, Resource } from './resource.ts';

export interface PrintedColumn extends Column {
  cell(object: KubeObject): Json;
}

/** A span of time as kubectl prints ages: two units while the number is small. */
export const age = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 && days % 365 !== 0 ? `${years}y${days % 365}d` : `${years}y`;
};

export const since = (time: Json | undefined): string => (typeof time === 'string' ? age(Date.now() - Date.parse(time)) : '<unknown>');

const NAME: PrintedColumn = { name: 'Name', type: 'string', format: 'name', cell: (object) => object.metadata.name ?? '' };
const AGE: PrintedColumn = { name: 'Age', type: 'string', cell: (object) => since(object.metadata.creationTimestamp) };

/** The columns of a resource, in the order they are printed. */
export const columnsOf = (_resource: Resource): readonly PrintedColumn[] => [NAME, AGE];
export { at };
