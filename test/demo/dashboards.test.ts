import { describe, expect, test } from 'vitest';
import { dashboardsOf, opened } from '../../demo/dashboards.ts';

const ANYWHERE = { dashboardBindAddr: null, inspect: null };

describe('the dashboards of the demo', () => {
  test('are on a free port of loopback, and ask for nothing, unless told otherwise', () => {
    expect(dashboardsOf(ANYWHERE, {})).toEqual({ bind: '127.0.0.1:0', inspect: '127.0.0.1:0', token: null });
  });

  test('ask for the token that the environment names', () => {
    const env = { ROUTEDIP_DASHBOARD_TOKEN: 'word' };
    expect(dashboardsOf({ dashboardBindAddr: '0.0.0.0:8081', inspect: '0.0.0.0:8082' }, env)).toEqual({
      bind: '0.0.0.0:8081',
      inspect: '0.0.0.0:8082',
      token: 'word',
    });
    expect(dashboardsOf(ANYWHERE, env).token).toBe('word');
  });

  test.each([{}, { ROUTEDIP_DASHBOARD_TOKEN: '' }])(
    'ask for a new token each time where others may reach them and there is none: %j',
    (env) => {
      for (const address of [{ dashboardBindAddr: '0.0.0.0:8081' }, { inspect: '0.0.0.0:8082' }]) {
        const [first, second] = [1, 2].map(() => dashboardsOf({ ...ANYWHERE, ...address }, env).token);
        expect(first).toMatch(/^[0-9a-f]{32}$/);
        expect(second).not.toBe(first);
      }
    },
  );

  test('are printed with their token, so that a browser opens them', () => {
    const dashboards = { token: 'a&b' };
    expect(opened('http://127.0.0.1:8081', dashboards)).toBe('http://127.0.0.1:8081/?token=a%26b');
    expect(opened('http://127.0.0.1:8081/jobs', dashboards)).toBe('http://127.0.0.1:8081/jobs?token=a%26b');
    expect(opened('http://127.0.0.1:8081', { token: null })).toBe('http://127.0.0.1:8081');
    expect(opened(null, dashboards)).toBeNull();
  });
});
