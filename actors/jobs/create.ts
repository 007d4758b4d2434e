import { restMs } from '../../machines/model/backoff.ts';
import type { ObservedAddress } from '../../machines/model/types.ts';
import { Fenced, ProviderError, Unreachable } from '../ports/errors.ts';
import type { ListCall } from '../ports/provider.ts';
import { again, done, type JobBody, type JobContext, passFence, read, write } from './job.ts';

/** A list of the family in which addresses are created. */
const created = (context: Pick<JobContext<'create'>, 'owner'>): ListCall => ({ ...read(context, 'intend'), family: 4 });

/** Lists the addresses that exist, then records them in the owner's status: after this, a lost answer can be looked up. */
export const intendCreate: JobBody<'intendCreate'> = async (context) => {
  const { input, provider, writer, clock, term } = context;
  await requireFirewall(context);
  const all = await provider.listRoutedIPs(created(context));
  const intent = { provider: input.provider, knownAddresses: all.map(({ address }) => address).sort(), listedAt: clock.now() };
  await passFence(context);
  await writer.recordIntent(input.owner, { ...intent, region: input.region, term });
  return done(intent);
};

/** An address costs money, and could not be assigned to a node without the firewall that its class names. A firewall that Jobs manage cannot be checked.
 *  @throws ProviderError NotFound | Unsupported */
export async function requireFirewall(context: JobContext<'intendCreate'>): Promise<void> {
  const { input, provider } = context;
  const { firewall } = input;
  if (firewall === undefined || provider.jobs?.firewalls) return;
  const found = await provider.findRoutedIPFirewall(firewall, read(context, 'firewall')).catch((error: unknown) => {
    if (!(error instanceof ProviderError) || error.kind !== 'Unsupported') throw error;
    throw new ProviderError(error.kind, error.message, { cause: error, conditionReason: 'FirewallNotSupported' });
  });
  if (!found) throw new ProviderError('NotFound', `firewall "${firewall}" does not exist`, { conditionReason: 'FirewallNotFound' });
}

/** CreateRoutedIP, once, unless existing addresses have to be listed again first. A run that may have sent it earlier does not send it again: a list has to show the
 *  outcome. */
export const create: JobBody<'create'> = async (context) => {
  if (context.rerun || context.progress !== null) {
    const { region } = context.input;
    throw new Error(`create an address in ${region}: an earlier try was cut off, its outcome is not known`);
  }
  if (isListOutOfDate(context)) return done({ address: null });
  await context.keep({ calledAt: context.clock.now() });
  try {
    return done({ address: await context.provider.createRoutedIP(context.input.region, write(context, 'create')) });
  } catch (error) {
    // Nothing was created: the next run need not look for it.
    const isKnown = error instanceof ProviderError ? !error.unknownOutcome : error instanceof Fenced || error instanceof Unreachable;
    if (isKnown) await context.keep(null).catch(() => undefined);
    throw error;
  }
};

/** How long a list stays valid, ms: a new one after each wait for the budget, which is per minute, would use up what was waited for. */
const LIST_LASTS_MS = 60_000;

/** While the call waited, users may have created addresses, which would be taken for ours. */
const isListOutOfDate = ({ input: { intent }, waited, clock }: JobContext<'create'>): boolean =>
  waited === true && clock.now() - intent.listedAt > LIST_LASTS_MS;

/** How far a list may lag behind what has been created, ms. */
const LIST_LAG_MS = 10_000;

/** Looks for the one address that is new since the intent. Finding none or several counts only once the call can no longer take effect and a list would show its effect:
 *  until then its address may still be missing. */
export const reconcileCreate: JobBody<'reconcileCreate'> = async (context) => {
  const { input, clock, settings } = context;
  const wait = context.progress === null ? restMs(input.inDoubtUntil, clock.now(), settings.callDeadlineMs) + LIST_LAG_MS : 0;
  const fresh = await news(context);
  const [only] = fresh;
  if (only && fresh.length === 1) return done({ found: 'one', address: only.address });
  if (wait > 0) return again(wait, { waited: true });
  return fresh.length > 1 ? done({ found: 'several', addresses: fresh.map(({ address }) => address) }) : done({ found: 'none' });
};

/** Addresses of the region that appeared since the intent, that no other object names and that are attached to nothing: they have no other use. */
async function news(
  context: Pick<JobContext<'reconcileCreate'>, 'input' | 'provider' | 'owner' | 'named'>,
): Promise<readonly ObservedAddress[]> {
  const { input, provider } = context;
  const all = await provider.listRoutedIPs(created(context));
  const known = new Set(input.intent.knownAddresses);
  const fresh = all.filter(
    ({ address, region, providerID }) => !known.has(address) && providerID === null && (!input.region || region === input.region),
  );
  const named = fresh.length > 0 ? await context.named?.() : null;
  return fresh.filter(({ address }) => !named?.has(address));
}
