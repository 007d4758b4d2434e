import { memoryJobsScenarios } from './memory-jobs.scenario.ts';

memoryJobsScenarios();
