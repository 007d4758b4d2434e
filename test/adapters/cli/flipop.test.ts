import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Options, parseCommandLine } from '../../../adapters/cli/options.ts';

const optionsOf = (...argv: readonly string[]): Options | undefined => parseCommandLine(argv, {}, '0.0.0')?.options;

afterEach(() => {
  process.exitCode = undefined;
  vi.restoreAllMocks();
});

/** The command lines of Deployments that run FLIPOP. Its flags are Go's: a switch may bear its value. */
describe('the flags of FLIPOP', () => {
  test.each<[readonly string[], Partial<Options>]>([
    [[], { debug: false, metricsBindAddr: ':8080' }],
    [['--debug'], { debug: true }],
    [['--debug=true'], { debug: true }],
    [['--debug=false'], { debug: false }],
    [['--debug=false', '--kubeconfig=/etc/kubeconfig'], { kubeconfig: '/etc/kubeconfig' }],
    [['--kubeconfig', '/etc/kubeconfig', '--debug'], { kubeconfig: '/etc/kubeconfig', debug: true }],
    [['--metrics-bind-addr=:9090'], { metricsBindAddr: ':9090' }],
    [['--metrics-bind-addr='], { metricsBindAddr: '' }],
    [['--metrics-bind-addr', ''], { metricsBindAddr: '' }],
  ])('%j are taken as they stand', (argv, expected) => expect(optionsOf(...argv)).toMatchObject(expected));

  test.each([['--debug=maybe'], ['--verbose=true'], ['--kubeconfig-file=true']])('%s is still refused', (flag) => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(optionsOf(flag)).toBeUndefined();
    expect(process.exitCode).toBe(2);
  });

  test('that bear a value of their own keep it: only switches lose theirs', () => {
    expect(optionsOf('--leader-elect=false', '--namespace=true')).toMatchObject({ leaderElect: false, namespace: 'true' });
  });
});
