import { routedLifeScenarios } from '../e2e/routed-life.scenario.ts';

routedLifeScenarios();
