import type { FreeVipsInput, MarkVipInput, PublishVipInput, ReleaseVipInput, ReserveVipInput } from '../../../machines/jobs.ts';
import { isAlive, isContended, leftovers, mustMark, type VipContext } from '../../../machines/vip/decisions.ts';
import { isOwnedBy } from '../../../machines/vip/objects.ts';
import type { Edge } from '../explore.ts';
import { DOUBT_MS } from './vocabulary.ts';

const contextOf = ({ snapshot }: Edge['before']): VipContext => snapshot.context as VipContext;
const stateOf = ({ snapshot }: Edge['before']): string => JSON.stringify(snapshot.value);
const inputsOf = <I>({ after }: Edge, job: string): readonly I[] =>
  after.starts.filter((start) => (start.job as string) === job).map(({ input }) => input as I);
const listedBy = ({ service }: VipContext): readonly (string | null)[] => service?.ingress.map(({ ip }) => ip) ?? [];

/** What holds at every step of the chart of a Service's address. */
export const VIP_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'nothing is done before anything is known': ({ after }) => contextOf(after).heard || after.starts.length === 0,

  'one job at once: only after its outcome, or on a restart, is another one issued': ({ before, event, after }) =>
    after.starts.length <= 1 &&
    (after.starts.length === 0 ||
      [...before.invoking].every((id) => id === 'look') ||
      event.type === 'RESUME' ||
      event.type.includes('.actor.')),

  'nothing but its outcome or a restart ends a job that writes': ({ before, event, after }) =>
    event.type === 'RESUME' ||
    [...before.invoking].every((id) => id === 'look' || after.invoking.has(id) || event.type.endsWith(`.actor.${id}`)),

  'a restart does again what was being done, or what is to be done by now': ({ before, event, after }) => {
    if (event.type !== 'RESUME') return true;
    const isAsked = [...after.invoking].join() === after.starts.map(({ invokeId }) => invokeId).join();
    return isAsked && (stateOf(before) === stateOf(after) || before.invoking.size > 0);
  },

  'a job is about the Service that has the name': ({ after }) =>
    after.starts.every(({ input }) => (input as { service: { uid: string } }).service.uid === contextOf(after).ref.uid),

  'reserved is what was chosen, for one that wants it, and nothing that is in its way is left': (edge) => {
    const context = contextOf(edge.after);
    return inputsOf<ReserveVipInput>(edge, 'reserveVip').every(
      ({ address }) => address === context.target?.address && isAlive(context) && leftovers(context).length === 0,
    );
  },

  'published is what is reserved for the Service while our finalizer is there, and what is not being deleted': (edge) => {
    const { owned, doomed, ref, service, target } = contextOf(edge.after);
    return inputsOf<PublishVipInput>(edge, 'publishVip').every(
      ({ address }) =>
        (address === null && target === null) ||
        (service?.guarded && owned.some((ip) => ip.address === address && isOwnedBy(ip, ref) && !doomed.includes(ip.uid))),
    );
  },

  'nothing is reserved for or published to a Service that is left to somebody else': ({ after }) =>
    !contextOf(after).contention ||
    after.starts.every(({ job }) => !['reserveVip', 'publishVip'].includes(job as string)) ||
    !isAlive(contextOf(after)),

  'what is said of a Service is that it is left to somebody else, as long as it is': (edge) =>
    inputsOf<MarkVipInput>(edge, 'markVip').every(({ message }) => message === (contextOf(edge.after).contention?.message ?? null)),

  'our finalizer is taken off one that is left only if nothing is reserved for it': (edge) =>
    inputsOf<MarkVipInput>(edge, 'markVip').every(
      ({ letsGo }) => !letsGo || (contextOf(edge.after).owned.length === 0 && isContended(contextOf(edge.after))),
    ),

  'whoever rests as contended says so, and is left': ({ after }) =>
    stateOf(after) !== '"Contended"' || (isContended(contextOf(after)) && !mustMark(contextOf(after))),

  'the ingress is emptied only of what is another’s': (edge) =>
    inputsOf<PublishVipInput>(edge, 'publishVip').every(({ address }) => address !== null || contextOf(edge.after).usurps),

  'nothing is freed while it is listed, unless the ingress is emptied first': (edge) =>
    inputsOf<FreeVipsInput>(edge, 'freeVips').every(
      ({ ips, clears }) => clears || ips.every(({ address }) => !listedBy(contextOf(edge.after)).includes(address)),
    ),

  'nothing that the Service is to have is freed while it wants it': (edge) => {
    const { target, doomed, ref } = contextOf(edge.after);
    return inputsOf<FreeVipsInput>(edge, 'freeVips').every(({ ips }) =>
      ips.every((ip) => ip.address !== target?.address || doomed.includes(ip.uid) || !isOwnedBy(ip, ref)),
    );
  },

  'whoever wants an address is not let go': (edge) =>
    inputsOf<ReleaseVipInput>(edge, 'releaseVip').every(() => !isAlive(contextOf(edge.after))),

  'an IP whose Service is not there is freed only after a look that missed it, and a wait': (edge) =>
    inputsOf<ReleaseVipInput>(edge, 'releaseVip').every(
      ({ isThere }) =>
        isThere || edge.event.type === 'RESUME' || (edge.event.type.startsWith('xstate.after.doubt') && contextOf(edge.before).looks > 0),
    ),

  'between two looks is a doubt': ({ event, after }) =>
    !event.type.endsWith('done.actor.look') ||
    !stateOf(after).includes('Waiting') ||
    (after.delays.length === 1 && after.delays.every(({ delayMs }) => delayMs === DOUBT_MS)),

  'a deletion that may be on its way is not relied on': ({ before, event, after }) => {
    const job = /^xstate\.error\.actor\.(?:free|yield|release)$/.test(event.type);
    const isUnknown = (event.error as { unknownOutcome?: boolean } | undefined)?.unknownOutcome;
    if (!job || !isUnknown) return true;
    return contextOf(before).freeing.every((uid) => contextOf(after).doomed.includes(uid));
  },

  'what a job is to delete is noted as it begins': (edge) =>
    [...inputsOf<FreeVipsInput>(edge, 'freeVips'), ...inputsOf<FreeVipsInput>(edge, 'releaseVip')].every(
      ({ ips }) => ips.map(({ uid }) => uid).join() === contextOf(edge.after).freeing.join(),
    ),

  'what was freed does not come back': ({ after }) => {
    const { owned, late } = contextOf(after);
    return owned.every(({ uid }) => !late.freed.includes(uid));
  },

  'what is freed was said by the job to be': ({ before, event, after }) => {
    if (!/^xstate\.done\.actor\.(?:free|yield|release)$/.test(event.type)) return true;
    const { freed } = event.output as { freed: readonly string[] };
    const left = contextOf(after).owned;
    return contextOf(before).owned.every((ip) => freed.includes(ip.uid) || left.includes(ip) || after.done);
  },

  'a failure is kept, and followed by a wait': ({ event, after }) =>
    !event.type.startsWith('xstate.error.') ||
    (stateOf(after) === '"CoolOff"' && after.delays.length === 1 && contextOf(after).failure !== null),

  'a wait after a failure ends': ({ event, after }) => !event.type.startsWith('xstate.after.coolOff') || stateOf(after) !== '"CoolOff"',

  'whoever rests as Bound lists what is reserved for it': ({ after }) => {
    const { service, owned, target, ref } = contextOf(after);
    if (stateOf(after) !== '{"Bound":"Settled"}') return true;
    const [only, ...more] = owned;
    return (
      only !== undefined &&
      more.length === 0 &&
      only.address === target?.address &&
      isOwnedBy(only, ref) &&
      listedBy({ ...contextOf(after), service }).join() === only.address
    );
  },

  'whoever is Pending has nothing to wait for but an address': ({ after }) => {
    const context = contextOf(after);
    return (
      stateOf(after) !== '"Pending"' || !context.heard || (isAlive(context) && context.target === null && leftovers(context).length === 0)
    );
  },

  'gone is what has been let go, or had nothing': ({ event, after }) => {
    const context = contextOf(after);
    if (!after.done) return true;
    return event.type === 'xstate.done.actor.release' || (context.owned.length === 0 && !context.service?.guarded);
  },

  'whoever wants an address is not gone': ({ after }) => !after.done || !isAlive(contextOf(after)),

  'another Service of the name is heard as itself': ({ event, after }) => {
    const seen = event.type === 'SERVICE_OBSERVED' ? (event.service as VipContext['service']) : null;
    return seen === null || contextOf(after).ref.uid === seen.ref.uid;
  },
};

export const brokenByVip = (edge: Edge): readonly string[] =>
  Object.entries(VIP_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
