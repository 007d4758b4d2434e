import { marksScenarios } from './marks.scenario.ts';

marksScenarios();
