import { routedLifeScenarios } from './routed-life.scenario.ts';

routedLifeScenarios();
