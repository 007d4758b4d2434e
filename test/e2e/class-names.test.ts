import { classNamesScenarios } from './class-names.scenario.ts';

classNamesScenarios();
