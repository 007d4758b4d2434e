import { memoryJobsScenarios } from '../e2e/memory-jobs.scenario.ts';

memoryJobsScenarios();
