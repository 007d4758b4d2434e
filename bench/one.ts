// The process that measures one scenario once, for the one that started it.
import { type Answer, jobOf } from './apart.ts';
import { SCENARIOS } from './scenarios.ts';

// As in the image: what is measured does not find itself compiled by an earlier run.
delete process.env.NODE_COMPILE_CACHE;
process.env.NODE_ENV = 'production';
// Who started it is gone.
process.on('disconnect', () => process.exit(1));

async function answer(): Promise<Answer> {
  try {
    const { scenario, plan } = jobOf(process.argv);
    const found = SCENARIOS.find(({ name }) => name === scenario);
    if (found === undefined) throw new Error(`there is no scenario "${scenario}"`);
    return { measured: await found.measure(plan) };
  } catch (error) {
    return error instanceof Error ? { error: error.message, stack: error.stack ?? error.message } : { error: String(error), stack: '' };
  }
}

process.send?.(await answer(), () => process.exit(0));
