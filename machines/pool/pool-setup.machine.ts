import { setup } from 'xstate';
import { asking, durables, EFFECTS, take } from '../durable.machine.ts';
import type { Decision } from '../events.ts';
import { isPaused } from './annotations.ts';
import type { PoolContext, PoolInput, PoolSettings } from './context.ts';
import * as pool from './context.ts';
import * as creation from './creation.ts';
import * as naming from './dns-records.ts';
import type { AnyPoolEvent } from './events.ts';
import * as granting from './grant.ts';
import * as groups from './ip-group-offer.ts';
import * as members from './members.ts';
import * as moves from './move-requests.ts';
import * as absences from './node-absence.ts';
import * as facts from './observe.ts';
import * as acquire from './provisioning.ts';
import * as reverts from './reverts.ts';
import { isLeftOver } from './service-observed.ts';

type OfType<T extends AnyPoolEvent['type']> = Extract<AnyPoolEvent, { type: T }>;

/** Everything that the chart of a pool references: its jobs, delays, actions and guards. */
export const poolSetup = (settings: PoolSettings) => {
  const base = setup({
    types: {} as { context: PoolContext; events: AnyPoolEvent; input: PoolInput },
    actors: durables('intendCreate', 'create', 'reconcileCreate', 'publish', 'announce', 'findNodes'),
    actions: EFFECTS,
    delays: {
      naming: naming.PAUSE_MS,
      recovery: ({ context, event }) => Math.max(0, (context.recoverAt ?? 0) - event.at),
      nextGrant: ({ context, event }) => Math.max(0, (context.grantAt ?? 0) - event.at),
      coolOff: ({ context, event }) => acquire.coolOffLeft(settings)(context, event.at),
    },
  });

  const always = (decision: (context: PoolContext, at: number, event: AnyPoolEvent) => Decision<PoolContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => take(enqueue, decision(context, event.at, event)));
  const on = <T extends AnyPoolEvent['type']>(type: T, decision: (context: PoolContext, event: OfType<T>) => Decision<PoolContext>) =>
    always((context, _, event) => (event.type === type ? decision(context, event as OfType<T>) : { context, effects: [] }));
  const asks = asking<PoolContext, AnyPoolEvent>();
  const failAcquiring = acquire.failAcquiring(settings);

  return base.extend({
    actions: {
      forgetFacts: always(facts.forgetFacts),
      observeSpec: on('SPEC_OBSERVED', facts.observeSpec),
      observeCluster: on('CLUSTER_OBSERVED', facts.observeCluster),
      observeProvider: on('PROVIDER_OBSERVED', facts.observeProvider),
      observeClaims: on('CLAIMS_OBSERVED', facts.observeClaims),
      observeGroup: on('GROUP_OBSERVED', groups.observeGroup),
      noteReady: on('READY', members.onReady),
      noteAssigned: on('ASSIGNED', members.onAssigned),
      noteFailed: on('FAILED', members.onFailed(settings)),
      noteGone: on('GONE', members.onGone),
      noteDeletion: always(members.noteDeletion),
      forceAll: on('DELETED', members.force),
      retireAll: always(members.remove),
      staff: always((context) => members.staff(context)),
      grant: always(granting.grant),
      relieve: always(granting.relieve),
      answerMoves: always(moves.answerMoves),
      planGrant: always(granting.planGrant),
      forgetGrant: always(granting.forgetGrant),
      planRecovery: always(absences.planRecovery),
      forgetRecovery: always(absences.forgetRecovery),
      giveUp: always(absences.giveUp),
      ask: always(absences.ask),
      noteAnswers: on('xstate.done.actor.findNodes', (context, { output, at }) => absences.noteAnswers(context, output, at)),
      noteSilence: always((context, at) => absences.noteAnswers(context, { gone: [] }, at)),
      name: always(naming.name),
      intend: always(acquire.intend),
      dropIntent: on('xstate.done.actor.intend', (context, { output }) => acquire.dropIntent(context, output)),
      interrupt: always(acquire.interrupt(settings)),
      noteIntent: on('xstate.done.actor.intend', (context, { output }) => acquire.intended(context, output)),
      noteCreated: on('xstate.done.actor.create', (context, { output }) => acquire.obtained(context, output.address)),
      noteFound: on('xstate.done.actor.reconcile', (context, { output }) => acquire.found(context, output)),
      noteNothingMade: always(acquire.nothingMade),
      notePublished: on('xstate.done.actor.publish', (context, { output }) => acquire.published(context, output)),
      reuse: always(acquire.reuse),
      disown: always(acquire.disown),
      waitAfterRevert: always(reverts.waitAfterRevert(settings)),
      conclude: always(acquire.conclude),
      giveBack: always(members.giveBack),
      lookUp: always(acquire.lookUp),
      doubtCreation: always(acquire.doubtCreation(settings)),
      failAcquiring: always((context, at, event) =>
        'error' in event ? failAcquiring(context, event.error, at) : { context, effects: [] },
      ),
    },
    guards: {
      isInvalid: asks((context) => !pool.isValid(context)),
      isValid: asks(pool.isValid),
      accounts: asks(acquire.accounts),
      hasNoUse: asks((context) => !pool.isValid(context) && !acquire.accounts(context)),
      isPrimed: asks(pool.isPrimed),
      reclaimsFirst: asks(members.reclaimsFirst),
      deletesNow: asks((context) => context.exposed?.deleting === true && !context.deleted),
      isForced: asks((_, event) => event.type === 'DELETED' && event.force === true),
      isEmpty: asks((context) => Object.keys(context.members).length === 0),
      hasError: asks(({ error }) => error !== null),
      canGrant: asks((context, event) => pool.isPrimed(context) && granting.decideGrants(context, event.at).grants.length > 0),
      canRelieve: asks((context, event) => pool.isPrimed(context) && granting.decideGrants(context, event.at).reliefs.length > 0),
      hasAnswer: asks((context, event) => moves.hasAnswer(context, event.at)),
      grantsLater: asks((context, event) => granting.decideGrants(context, event.at).nextAt !== null),
      grantsNever: asks((context, event) => granting.decideGrants(context, event.at).nextAt === null),
      grantsOtherwise: asks((context, event) => granting.decideGrants(context, event.at).nextAt !== context.grantAt),
      givesTime: asks((context, event) => absences.givesTime(context, event.at)),
      givesNoTime: asks((context, event) => absences.recoveryEnds(context, event.at) === null),
      givesOtherTime: asks((context, event) => absences.recoveryEnds(context, event.at) !== context.recoverAt),
      hasQuestion: asks((context, event) => absences.hasQuestion(context, event.at)),
      namesDiffer: asks((context, event) => naming.namesDiffer(context, event.at)),
      namesAgree: asks((context, event) => !naming.namesDiffer(context, event.at)),
      isUnsettled: asks(naming.isUnsettled),
      acquiresAgain: asks((context) => context.acquiring.failure === null || reverts.waitsNoMore(context)),
      awaitsChange: asks(acquire.awaitsChange),
      createsNoMore: asks(
        (context, event) =>
          acquire.createsNoMore(context) || (event.type === 'xstate.done.actor.intend' && acquire.isOthersIntent(context, event.output)),
      ),
      lacksAddress: asks(creation.lacksAddress),
      isOfferedAnew: asks((context, event) => event.type === 'GROUP_OBSERVED' && groups.isOfferedAnew(context, event)),
      hasSpare: asks((context) => creation.hasSpare(context) && !reverts.mustWait(context)),
      mustWait: asks((context) => creation.hasSpare(context) && reverts.mustWait(context)),
      hasUnpublished: asks(({ acquiring }) => acquiring.unpublished !== null),
      hasIntent: asks((context) => pool.isCreating(context.acquiring) && !creation.awaitsLookUp(context)),
      mustConclude: asks((context) => acquire.mustConclude(context) && !creation.awaitsLookUp(context)),
      hasConcluded: asks((context) => !acquire.mustConclude(context)),
      leavesAddress: asks(acquire.leavesAddress),
      givesBack: asks(members.givesBack),
      givesBackLeftOver: asks((context, event) => isLeftOver(context) && !isPaused(context) && members.givesBack(context, event)),
      isLeftOver: asks(isLeftOver),
      givesUp: asks((context, event) => acquire.givesUp(context, event.at)),
      outcomeUnknown: asks((_, event) => 'error' in event && event.error.unknownOutcome),
      isNotOurs: asks((context, event) => 'error' in event && acquire.isNotOurs(context, event.error)),
      foundNone: asks((_, event) => event.type === 'xstate.done.actor.reconcile' && event.output.found === 'none'),
    },
  });
};
