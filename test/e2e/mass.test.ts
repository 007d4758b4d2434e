import { massScenarios } from './mass.scenario.ts';

massScenarios();
