import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../adapters/cli/options.ts';

const environmentOf = (env: NodeJS.ProcessEnv) => parseCommandLine([], env, '0.0.0')?.environment;

describe('the tokens of the environment', () => {
  test('are taken without white space at their ends, as a Secret made from a file has it', () => {
    const env = { DIGITALOCEAN_ACCESS_TOKEN: 'dop_v1_x\n', CLOUDFLARE_TOKEN: ' cf_y\r\n' };
    expect(environmentOf(env)).toMatchObject({ digitaloceanToken: 'dop_v1_x', cloudflareToken: 'cf_y' });
  });

  test.each([{}, { DIGITALOCEAN_ACCESS_TOKEN: '', CLOUDFLARE_TOKEN: '' }, { DIGITALOCEAN_ACCESS_TOKEN: '\n', CLOUDFLARE_TOKEN: ' ' }])(
    'are missing when nothing is left of them: %j',
    (env) => expect(environmentOf(env)).toMatchObject({ digitaloceanToken: null, cloudflareToken: null }),
  );
});
