-- 0.9.0: the arms that were eligible for a decision, a JSON list of names; NULL: all.
ALTER TABLE fpbandits.events ADD COLUMN among text;
