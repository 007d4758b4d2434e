import { routedReleaseScenarios } from './routed-release.scenario.ts';

routedReleaseScenarios();
