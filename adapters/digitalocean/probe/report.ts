import { visible } from '../../../machines/model/visible.ts';
import type { Look } from './look.ts';

/** The result, filled in step by step. */
export interface Report {
  /** Format version. */
  readonly probe: 1;
  readonly version: string;
  readonly api: string;
  readonly at: string;
  /** Null when only a state file was cleaned up. */
  look: Look | null;
  /** Null when no writes were requested. */
  steps: Step[] | null;
  /** Deviations from what the operator expects, and why requested writes were not made. */
  readonly differences: string[];
  /** Created resources that still exist. */
  left: readonly string[];
  /** Parts that were not requested, and so not done. */
  skipped: readonly string[];
}

/** One write with its outcome. */
export interface Step {
  readonly step: string;
  /** Statuses of its writes; empty where there was nothing to write. */
  readonly answered: string;
  /** Statuses of its action in order; empty without an action. */
  readonly action: readonly string[];
  /** From sending it to the response. */
  readonly acceptedMs: number | null;
  /** From the response until a read showed it; null when it failed. */
  readonly shownMs: number | null;
}

// ---------------------------------------------------------------- for people

const WIDTH = 80;

/** The report as text of at most 80 columns, unless a word is longer. */
export function reportText(report: Report): string {
  const { version, api, at, look, steps, differences, left, skipped } = report;
  const list = (texts: readonly string[]): Cells[] => texts.map((text) => ['-', text]);
  const lines = [
    ...wrapped(`routedip-operator ${version} asked ${api} at ${at}`),
    ...(look ? lookLines(look) : []),
    ...(steps ? section('Writes', [['', 'answered', 'action', 'accepted', 'shown'], ...steps.map(cellsOf)]) : []),
    ...section('Left out', list(skipped)),
    ...section('Still there', list(left)),
    ...section('Differs from what the operator expects', differences.length > 0 ? list(differences) : [['', 'nothing']]),
  ];
  return `${lines.join('\n')}\n`;
}

const cellsOf = ({ step, answered, action, acceptedMs, shownMs }: Step): Cells => [
  step,
  answered,
  action.join(' > '),
  span(acceptedMs),
  span(shownMs) || 'FAILED',
];

function lookLines({ scopes, limits: { addresses, requests }, lists, headers, latency, actions }: Look): readonly string[] {
  return [
    ...section(
      'Scopes of the token (those to create, update and delete only a write shows)',
      scopes.map(({ scope, has, for: what }) => [scope, has === null ? 'not known' : has ? 'yes' : 'MISSING', what]),
    ),
    ...section('Limits', [
      ['reserved IPv4 addresses', `${addresses.present ?? 'unknown'} of ${addresses.limit ?? 'unknown'}`],
      ['requests', requests ? `${requests.remaining} left of ${requests.limit} an hour, reset in ${requests.resetInS} s` : 'not told'],
    ]),
    ...section('Lists', [
      ['', 'read', 'total', 'pages'],
      ...lists.map(({ path, items, total, pages, isCut }) => [path, `${items}${isCut ? ' at most' : ''}`, total, pages]),
    ]),
    ...section('Answers', [
      ['clock', headers.clock && clockText(headers.clock)],
      counts('status', headers.statuses),
      counts('content type', headers.contentTypes),
      ['request ids', headers.requestIds],
      ['Retry-After', headers.retryAfter.join(', ') || 'never'],
      [`${latency.reads} reads`, `p50 ${span(latency.p50Ms)}, p90 ${span(latency.p90Ms)}, p99 ${span(latency.p99Ms)}`],
    ]),
    ...section(`Actions on addresses${actions.since ? `, since ${actions.since}, in whole seconds` : ''}`, [
      ['', 'ended', 'errored', 'running', 'p50', 'p90', 'max'],
      ...(actions.rows.length === 0 ? [['none']] : []),
      ...actions.rows.map((row) => [row.type, row.ended, row.errored, row.unfinished, span(row.p50Ms), span(row.p90Ms), span(row.maxMs)]),
    ]),
  ];
}

const clockText = ({ aheadMs, giveMs }: NonNullable<Look['headers']['clock']>): string =>
  `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's, give or take ${(giveMs / 1000).toFixed(1)} s`;

const counts = (what: string, values: Readonly<Record<string, number>>): Cells => [
  what,
  Object.entries(values)
    .map(([value, times]) => `${value} (${times})`)
    .join(', '),
];

/** A duration in the largest unit in which it is at least two. */
function span(ms: number | null): string {
  if (ms === null) return '';
  if (ms < 2000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

type Cells = readonly (string | number | null)[];

/** Columns as wide as their widest cell, the last one wrapped; an empty cell is shown as `-`, except in the first column. Nothing without rows. */
function section(title: string, rows: readonly Cells[]): readonly string[] {
  const texts = rows.map((row) => row.map((cell, column) => visible(String(cell ?? '')) || (column === 0 ? '' : '-')));
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const lines = texts.flatMap((row) => {
    const before = row.slice(0, -1).reduce((line, cell, column) => `${line}${cell.padEnd(widths[column] ?? 0)}   `, '  ');
    return wrapped(row.at(-1) ?? '', before.length).map((line, index) => (index === 0 ? before : ' '.repeat(before.length)) + line);
  });
  return rows.length === 0 ? [] : ['', ...wrapped(title), ...lines.map((line) => line.trimEnd())];
}

/** Wraps a text into lines that leave room for an indent. */
const wrapped = (text: string, indent = 0): readonly string[] =>
  text.match(new RegExp(`\\S.{0,${Math.max(20, WIDTH - indent) - 1}}(?= |$)|\\S+`, 'g')) ?? [''];
