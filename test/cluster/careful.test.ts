import { carefulScenarios } from '../e2e/careful.scenario.ts';

carefulScenarios();
