import { APPLY, applied, core, MERGE, pool, pools, reporting, type Step, step } from './step.ts';

/** Server-side apply. */
export const APPLY_STEPS: readonly Step[] = [
  step('creates what is applied', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({ a: '1', b: '2' }),
  }),
  step('removes what its manager no longer applies', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({ a: '1' }),
  }),
  step('shares a field that another applies with the same value', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '1', c: '3' }),
  }),
  step('refuses to change a field of another manager', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('changes it by force', 'PATCH', core('configmaps', '/applied?fieldManager=two&force=true'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('keeps what another manager has when one lets go', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({}),
  }),
  step('removes all that a manager has when it applies nothing', 'PATCH', core('configmaps', '/emptied?fieldManager=one'), {
    type: APPLY,
    body: { ...applied({ a: '1' }), metadata: { name: 'emptied' } },
  }),
  step('leaves nothing of it', 'PATCH', core('configmaps', '/emptied?fieldManager=one'), {
    type: APPLY,
    body: { ...applied({}), metadata: { name: 'emptied' } },
  }),
  step('lets a plain patch take a field', 'PATCH', core('configmaps', '/applied?fieldManager=three'), {
    type: MERGE,
    body: { data: { c: '9' } },
  }),
  step('refuses to take it back', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('refuses to apply without a manager', 'PATCH', core('configmaps', '/applied'), { type: APPLY, body: applied({}) }),
  step('refuses an applied change of what was created plainly', 'PATCH', core('secrets', '/k?fieldManager=one'), {
    type: APPLY,
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'k' }, data: { a: 'Yw==' } },
  }),
  step('applies a pool', 'PATCH', pools('/applied?fieldManager=one'), {
    type: APPLY,
    body: pool('applied', { provider: 'a', ips: ['192.0.2.1'] }),
  }),
  step('merges a set of addresses', 'PATCH', pools('/applied?fieldManager=two'), {
    type: APPLY,
    body: pool('applied', { provider: 'a', ips: ['192.0.2.2'] }),
  }),
  step('applies a condition to its status', 'PATCH', pools('/applied/status?fieldManager=one'), { type: APPLY, body: reporting('Ready') }),
  step('merges conditions of two managers', 'PATCH', pools('/applied/status?fieldManager=two'), {
    type: APPLY,
    body: reporting('Degraded'),
  }),
  step('removes one condition', 'PATCH', pools('/applied/status?fieldManager=one'), {
    type: APPLY,
    body: { ...pool('applied', {}), status: {} },
  }),
  step('deletes the applied pool', 'DELETE', pools('/applied')),
];
