-- Operators' actions are looked up by what they were done to.
create index audit_log_subject on cardauth.audit_log (subject, audit_id);
