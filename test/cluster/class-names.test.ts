import { classNamesScenarios } from '../e2e/class-names.scenario.ts';

classNamesScenarios();
