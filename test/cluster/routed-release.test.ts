import { routedReleaseScenarios } from '../e2e/routed-release.scenario.ts';

routedReleaseScenarios();
