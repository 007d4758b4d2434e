import { ownTokenScenarios } from '../e2e/own-tokens.scenario.ts';

ownTokenScenarios();
