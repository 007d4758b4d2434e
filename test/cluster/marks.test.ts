import { marksScenarios } from '../e2e/marks.scenario.ts';

marksScenarios();
