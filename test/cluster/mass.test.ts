import { massScenarios } from '../e2e/mass.scenario.ts';

massScenarios();
