import { parse } from 'yaml';
import type { Json } from '../../../simulator/kubernetes/objects.ts';
import { kubectl } from '../../support/kubectl.ts';
import type { RecordingProxy } from '../../support/recording-proxy.ts';
import { answerLeaves, type Leaves, leaves, parsed } from './answer.ts';
import type { Command } from './kubectl-steps.ts';

/** The schemas of all kinds, of which the simulator has those that somebody here meets. What kubectl makes of them is compared: what it explains and refuses. */
const SCHEMAS = /^\/openapi\//;

/** A part of a path that is the server's own: where a list goes on, which edition of a schema it is, an object's id. */
const OWN = /(?<=\b(?:continue|hash)=)[^&]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** kubectl puts the terms of a selector into any order. */
const nameOf = (path: string): string =>
  path.replaceAll(OWN, '*').replace(/(?<=fieldSelector=)[^&]+/, (selector) => decodeURIComponent(selector).split(',').sort().join(','));

/** kubectl lists all that a server has. */
const LISTING = ['api-resources', 'api-versions'];

const numbered = (name: string, text: string): Leaves =>
  Object.fromEntries(text.split('\n').map((line, index) => [`${name} line ${String(index + 1).padStart(3, '0')}`, line]));

const told = (text: string): Leaves =>
  Object.fromEntries(text.split('\n').map((line) => [`stdout has ${line.trim().replaceAll(/\s+/g, ' ')}`, true]));

const printed = (args: readonly string[], text: string): Leaves => {
  if (LISTING.includes(args[0] ?? '')) return told(text);
  if (args.includes('yaml') || args.includes('json')) return leaves(parse(text) as Json, 'stdout');
  return numbered('stdout', text);
};

const prefixed = (prefix: string, all: Leaves): Leaves =>
  Object.fromEntries(Object.entries(all).map(([path, value]) => [`${prefix}${path}`, value]));

/** Runs the command through the proxy: all that it prints, asks for and is answered, by its path. */
export const ran = async (
  proxy: RecordingProxy,
  { args, input, env }: Command,
): Promise<{ readonly code: number | null; readonly requests: number; readonly leaves: Leaves }> => {
  proxy.take();
  const { kubeconfig } = proxy;
  const { code, stdout, stderr } = await kubectl(args, { kubeconfig, ...(input !== undefined && { input }), ...(env && { env }) });
  const counts = new Map<string, number>();
  const asked = proxy.take().map((exchange) => {
    const request = `${exchange.method} ${nameOf(exchange.path)}`;
    const count = (counts.get(request) ?? 0) + 1;
    counts.set(request, count);
    const sent = exchange.body === '' ? {} : leaves(parsed(exchange.body), 'sent');
    const answer = answerLeaves(SCHEMAS.test(exchange.path) ? { ...exchange, text: '' } : exchange);
    return prefixed(`${request}${count === 1 ? '' : ` (${count})`}: `, { ...sent, ...answer });
  });
  return {
    code,
    requests: asked.length,
    leaves: Object.assign({ 'exit code': code }, printed(args, stdout), numbered('stderr', stderr), ...asked),
  };
};
