import { ownTokenScenarios } from './own-tokens.scenario.ts';

ownTokenScenarios();
