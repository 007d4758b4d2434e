import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { brokenBy, Simulation } from './run.ts';
test('trace', async () => {
  const all = JSON.parse(readFileSync(process.env.TRACE_FILE ?? '', 'utf8'));
  const { history } = all.find((e: { name: string }) => e.name.includes(process.env.TRACE_NAME ?? '')) ;
  const s = new Simulation(history);
  const out: string[] = [];
  const want = (process.env.TRACE_ACTOR ?? '').split(',');
  const { invariants, clock } = s.world;
  const { turnSaved } = invariants;
  invariants.turnSaved = (turn) => {
    turnSaved.call(invariants, turn);
    for (const t of turn.transitions) if (want.some((w) => t.actor.includes(w)))
      out.push(`${clock.monotonic()} term ${turn.term} ${t.actor} ${t.events.join()} -> ${JSON.stringify(t.after?.snapshot.value)} waits ${JSON.stringify(t.after?.waiting)} ${process.env.TRACE_CTX ? JSON.stringify((t.after?.snapshot.context as any)?.[process.env.TRACE_CTX]) : ''}`.slice(0, 700));
  };
  const b = await brokenBy(s);
  if (s.world.jobs) for (const j of s.world.jobs.created) out.push(`JOB ${j.createdAt} ${j.name} ${JSON.stringify(j.state)} gone ${j.gone} addr ${j.request.env.ROUTEDIP_ADDRESS} node ${j.request.env.ROUTEDIP_NODE}`);
  for (const c of s.world.provider.writes()) out.push(`CALL ${c.at} ${c.verb} ${JSON.stringify(c.args).slice(0,120)} ${c.result}`);
  for (const l of s.world.log) if (process.env.TRACE_LOG) out.push(`LOG ${l.level} ${l.message} ${JSON.stringify(l.fields)}`.slice(0, 400));
  out.sort((a, b) => (Number(/^(?:\w+ )?(\d+)/.exec(a)?.[1] ?? 0)) - (Number(/^(?:\w+ )?(\d+)/.exec(b)?.[1] ?? 0)));
  console.log(`${b.join('\n')}\n${out.slice(0, Number(process.env.TRACE_MAX ?? 80)).join('\n')}`);
});
