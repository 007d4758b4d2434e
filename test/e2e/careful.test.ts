import { carefulScenarios } from './careful.scenario.ts';

carefulScenarios();
