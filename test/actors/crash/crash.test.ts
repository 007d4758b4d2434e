import { SCENARIOS } from './scenarios.ts';
import { describeCrashes } from './suite.ts';

describeCrashes({
  scenarios: SCENARIOS,
  takeovers: ['lease runs out', 'lease is deleted'],
  cannot: {
    'pool deletion': {
      afterDispatch: 'whom the deleted pool tells of it is in its own cell, and nobody is given a job',
      'beforeSend of a change': 'an address that is given up stays where it is: nothing is sent but looks at the call that is under way',
    },
    'pool deletion while an address is created': {
      'beforeSend of a change': 'what the call under way made is looked up and told, and nothing is made or moved',
    },
  },
});
